// Reads a JSON list of diagrams on stdin, lets mermaid itself execute each, and prints what it made of them as JSON:
// {"type", "main", "branches": [name], "commits": [{"id", "parents", "branch", "type", "tags"}]} or {"error": message}.
// Usage: node parse_mermaid.mjs FOLDER, where FOLDER/node_modules holds @mermaid-js/tiny and jsdom.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";

const folder = createRequire(join(process.argv[2], "package.json"));
const load = (name) => import(pathToFileURL(folder.resolve(name)).href);

// mermaid cleans every name with DOMPurify, which needs a document.
const { JSDOM } = await load("jsdom");
globalThis.window = new JSDOM("").window;
globalThis.document = window.document;
// Its package is a script for browsers, whose variables are global.
runInThisContext(readFileSync(folder.resolve("@mermaid-js/tiny"), "utf8"));
const mermaid = globalThis.mermaid;

async function play(text) {
  try {
    const { diagramType, config } = await mermaid.parse(text);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    const commits = [...db.getCommits().values()].map(({ id, parents, branch, type, tags }) => ({ id, parents, branch, type, tags }));
    return { type: diagramType, main: config.gitGraph?.mainBranchName, branches: [...db.getBranches().keys()], commits };
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
}

const played = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) played.push(await play(text));
process.stdout.write(JSON.stringify(played));
