"use strict";
const paper = document.getElementById("paper"), verdict = document.getElementById("verdict");
const cards = [...document.querySelectorAll("article")];
function filter() {
  for (const card of cards) {
    card.hidden = (paper.value && card.dataset.paper !== paper.value)
      || (verdict.value && card.dataset.verdict !== verdict.value);
    card.style.display = card.hidden ? "none" : "";
  }
  for (const section of document.querySelectorAll("section.paper")) {
    section.hidden = ![...section.querySelectorAll("article")].some((card) => !card.hidden);
  }
  const shown = cards.filter((card) => !card.hidden).length;
  document.getElementById("shown").textContent = `${shown} of ${cards.length} claims`;
}
// A link from the map shows its card, whatever the filters hide.
function jump() {
  const card = document.getElementById(location.hash.slice(1));
  if (card && (card.hidden || card.closest("[hidden]"))) {
    paper.value = verdict.value = "";
    filter();
    card.scrollIntoView();
  }
}
paper.addEventListener("change", filter);
verdict.addEventListener("change", filter);
window.addEventListener("hashchange", jump);
document.getElementById("filters").hidden = false;
filter();
jump();
