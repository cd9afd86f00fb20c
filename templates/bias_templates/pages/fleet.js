"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const fleet = document.querySelector(".fleet");
  const table = fleet.querySelector("table");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows].filter((row) => row.className);
  if (!rows.length) return;
  const names = rows.map((row) => row.cells[0].textContent.toLowerCase());
  const order = new Map(rows.map((row, i) => [row, i]));
  const collator = new Intl.Collator("en", { numeric: true });
  const FIRST = 2; // columns before those of suites
  let sorted = null;

  const changes = () => Boolean($("show-changes") && $("show-changes").checked);
  const selected = (id) => ($(id) ? $(id).value : "");
  const number = (row, column, key) => {
    const text = row.cells[column] && row.cells[column].dataset[key];
    return text === undefined ? null : Number(text);
  };

  // What a row is sorted by; null where it has no such number.
  const keyOf = (column) => {
    if (column === 0) return (row) => names[order.get(row)];
    if (column < FIRST) return (row) => number(row, column, "v");
    const far = selected("by") === "distance";
    if (changes()) {
      return (row) => {
        const moved = number(row, column, "c");
        return far && moved !== null ? Math.abs(moved) : moved;
      };
    }
    const ideal = Number(heads[column].dataset.ideal);
    return (row) => {
      const value = number(row, column, "v");
      return far && value !== null ? Math.abs(value - ideal) : value;
    };
  };

  const sort = () => {
    let made = rows;
    if (sorted) {
      const key = keyOf(sorted.column);
      const sign = sorted.down ? -1 : 1;
      const compare = sorted.column === 0 ? collator.compare : (a, b) => a - b;
      const pairs = rows.map((row) => [key(row), row]);
      // What is missing stands last in both directions; what is equal, in the order of the list.
      pairs.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * compare(a, b);
      });
      made = pairs.map((pair) => pair[1]);
    }
    body.replaceChildren(...made);
    heads.forEach((head, i) => {
      const direction = sorted && sorted.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", sorted && sorted.column === i ? direction : "none");
    });
    tell();
  };

  const sheet = document.styleSheets[0];
  let rule = null;
  const filterColumns = () => {
    const kinds = [...document.querySelectorAll("[name=kind]")];
    const language = selected("language");
    const filled = $("filled") && $("filled").checked;
    const out = heads.map((head, i) => {
      if (i < FIRST) return false;
      const about = head.dataset;
      const kind = kinds.find((box) => box.value === about.kind);
      return Boolean((kind && !kind.checked) || (language && about.language !== language) ||
        (filled && "empty" in about));
    });
    heads.forEach((head, i) => { head.dataset.out = out[i] ? "1" : ""; });
    if (rule !== null) sheet.deleteRule(rule);
    rule = null;
    const which = out.flatMap((is, i) => (is ? [`:nth-child(${i + 1})`] : []));
    if (which.length) {
      const text = `.fleet tr > :is(${which.join()}):not(.why) { display: none; }`;
      rule = sheet.insertRule(text, sheet.cssRules.length);
    }
    const left = out.filter((is) => !is).length;
    fleet.style.setProperty("--n", left - FIRST);
    body.querySelectorAll(".why").forEach((cell) => { cell.colSpan = left - 1; });
    tell();
  };

  const filterRows = () => {
    const words = $("named").value.toLowerCase().split(/\s+/).filter(Boolean);
    const status = selected("status");
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => names[i].includes(word)) ||
        Boolean(status && !row.classList.contains(status));
    });
    tell();
  };

  const tell = () => {
    const models = rows.filter((row) => !row.hidden).length;
    const columns = heads.filter((head) => !head.dataset.out).length - FIRST;
    let text = `${models} of ${rows.length} models, ${columns} of ${heads.length - FIRST} columns`;
    if (sorted) {
      const name = heads[sorted.column].querySelector(".sort").textContent;
      text += `; by ${name}, ${sorted.down ? "descending" : "ascending"}`;
    }
    $("state").textContent = `${text}.`;
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.querySelector(".sort").textContent;
    head.querySelector(".sort").replaceWith(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const again = sorted && sorted.column === column;
      sorted = { column, down: Boolean(again && !sorted.down) };
      sort();
    });
  });
  document.querySelectorAll("[name=kind], #language, #filled").forEach((control) => {
    control.addEventListener("change", filterColumns);
  });
  $("named").addEventListener("input", filterRows);
  if ($("status")) $("status").addEventListener("change", filterRows);
  $("by").addEventListener("change", sort);
  document.querySelectorAll("[name=show]").forEach((box) => box.addEventListener("change", sort));
  $("listed").addEventListener("click", () => { sorted = null; sort(); });
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("controls").hidden = false;
  $("state").hidden = false;
  // A browser that goes back fills the controls in again.
  filterColumns();
  filterRows();
})();
