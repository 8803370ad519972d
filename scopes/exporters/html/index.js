
"use strict";
(() => {
  const query = document.getElementById("q"), found = document.getElementById("found");
  const rows = Array.from(document.querySelectorAll("main > *"), (row) => ({ row, text: row.textContent.toLowerCase() }));
  let timer = 0;

  // A month is shown if one of the conversations below it is.
  const search = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let month = null, count = 0;
    for (const { row, text } of rows) {
      if (row.tagName === "H2") {
        month = row;
        row.hidden = words.length > 0;
        continue;
      }
      const fits = words.every((word) => text.includes(word));
      row.hidden = !fits;
      if (fits) {
        count += 1;
        month.hidden = false;
      }
    }
    found.textContent = words.length ? `${count}` : "";
  };

  query.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 100); });
  query.addEventListener("keydown", (event) => { if (event.key === "Escape") { query.value = ""; search(); } });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== query) { event.preventDefault(); query.focus(); }
  });
  if (query.value) search();
})();
