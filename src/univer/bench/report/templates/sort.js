for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.title = "Sort by " + head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const order = head.ariaSort === "descending" ? "ascending" : "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = order;
      const sign = order === "ascending" ? 1 : -1;
      const value = (row) => Number(row.cells[column].dataset.value ?? -Infinity);
      const text = (row) => row.cells[column].textContent;
      const compare = (a, b) => (column && value(a) - value(b)) || text(a).localeCompare(text(b));
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => !row.classList.contains("heading"));
        body.append(...rows.sort((a, b) => sign * compare(a, b)));
      }
    });
  });
}
