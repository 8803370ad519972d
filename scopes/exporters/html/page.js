
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const query = at("q"), found = at("found"), unfold = at("unfold");
  let texts = null, hits = [], current = -1, timer = 0;

  // The texts of the messages are read once, when something is searched for.
  const read = () => texts ?? (texts = Array.from(document.querySelectorAll("main article"), (article) => (
    { article, text: article.textContent.toLowerCase() })));

  const highlight = (article, words) => {
    if (!("highlights" in CSS)) return;
    CSS.highlights.delete("hit");
    if (!article) return;
    const ranges = [], walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < 500; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (let start = text.indexOf(words); start >= 0 && ranges.length < 500; start = text.indexOf(words, start + words.length)) {
        const range = new Range();
        range.setStart(node, start);
        range.setEnd(node, start + words.length);
        ranges.push(range);
        for (let fold = node.parentElement.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      }
    }
    CSS.highlights.set("hit", new Highlight(...ranges));
    return ranges[0];
  };

  const go = (step) => {
    if (!hits.length) return;
    if (current >= 0) hits[current].classList.remove("hit");
    current = (current + step + hits.length) % hits.length;
    const article = hits[current];
    article.classList.add("hit");
    const first = highlight(article, query.value.trim().toLowerCase());
    (first ? first.startContainer.parentElement : article).scrollIntoView({ block: "center" });
    found.textContent = `${current + 1} of ${hits.length}`;
  };

  const search = () => {
    const words = query.value.trim().toLowerCase();
    if (current >= 0) hits[current].classList.remove("hit");
    hits = words ? read().filter((each) => each.text.includes(words)).map((each) => each.article) : [];
    current = -1;
    found.textContent = words && !hits.length ? "nothing" : "";
    if (hits.length) go(1); else highlight(null);
  };

  query.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 200); });
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { query.value = ""; search(); }
  });
  at("previous").addEventListener("click", () => go(-1));
  at("next").addEventListener("click", () => go(1));
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Fold" : "Unfold";
    for (const fold of document.querySelectorAll("main details")) fold.open = open;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); query.focus(); }
  });
  if (matchMedia("(max-width: 69.9rem)").matches) for (const panel of document.querySelectorAll("aside details")) panel.open = false;
})();
