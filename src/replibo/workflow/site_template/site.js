// Filter the rows of all tables of a page by the words typed into its field.
document.querySelectorAll("input.filter").forEach(field => {
  const rows = [...field.closest("article").querySelectorAll("tbody tr")];
  const texts = rows.map(row => row.textContent.toLowerCase());
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    rows.forEach((row, i) => { row.hidden = !words.every(word => texts[i].includes(word)); });
  });
});

// On phones a table's cells stand below each other, each after the name of its column.
document.querySelectorAll(".stacked table").forEach(table => {
  const names = [...table.querySelectorAll("thead th")].map(cell => cell.textContent);
  table.querySelectorAll("tbody tr").forEach(row => [...row.cells].slice(1).forEach((cell, i) => {
    cell.dataset.column = names[i + 1];
  }));
});
