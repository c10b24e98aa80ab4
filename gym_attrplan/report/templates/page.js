"use strict";
// A choice shows the panel it names and hides the other panels of its group.
for (const group of document.querySelectorAll("[data-choices]")) {
  const buttons = [...group.querySelectorAll("button")];
  const panels = document.querySelectorAll(`[data-panel^="${group.dataset.choices}:"]`);
  group.addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
    const wanted = `${group.dataset.choices}:${chosen.value}`;
    for (const panel of panels) panel.toggleAttribute("hidden", panel.dataset.panel !== wanted);
  });
}

// Whatever has a data-tip says it when pointed at, tapped or reached with the keyboard.
const tip = document.getElementById("tip");
function say(element) {
  const text = element && element.dataset.tip;
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const place = element.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const middle = place.left + place.width / 2 - own.width / 2;
  const left = Math.max(8, Math.min(middle, innerWidth - own.width - 8));
  const above = place.top - own.height - 8;
  const top = above > 8 ? above : Math.min(place.bottom + 8, innerHeight - own.height - 8);
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}
for (const name of ["pointerover", "focusin", "click"])
  document.addEventListener(name, (event) => say(event.target.closest("[data-tip]")));
document.addEventListener("focusout", () => say(null));
document.addEventListener("keydown", (event) => event.key === "Escape" && say(null));
document.addEventListener("scroll", () => say(null), { passive: true, capture: true });

// A table with more to the right shows it, until that has been scrolled to.
function mark(table) {
  const more = table.scrollWidth - table.clientWidth - table.scrollLeft > 4;
  table.parentElement.toggleAttribute("data-more", more);
}
for (const table of document.querySelectorAll(".scroll")) {
  table.addEventListener("scroll", () => mark(table), { passive: true });
  new ResizeObserver(() => mark(table)).observe(table);
}

// A video plays without its controls, which would hide its caption, until somebody turns to it.
for (const video of document.querySelectorAll("video")) {
  for (const name of ["pointerenter", "click", "focus"])
    video.addEventListener(name, () => { video.controls = true; });
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) continue;
  video.autoplay = false;
  video.pause();
  video.controls = true;
}

// On paper nothing can be opened.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
