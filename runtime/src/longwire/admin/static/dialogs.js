// The one dialog of the page: questions before something is done, and details.

import { byId, focusHeading, make } from "./elements.js";

let refuse = () => {}; // the question before

function open(title, body, buttons) {
  const dialog = byId("dialog");
  dialog.replaceChildren(
    make("h2", { id: "dialog-title" }, title),
    ...body,
    make("div", { class: "dialog-buttons" }, ...buttons),
  );
  if (dialog.open) return;
  dialog.showModal();
  dialog.onclose = () => {
    if (dialog.open) return; // told late, of the dialog before
    refuse();
    // The button that opened it is gone: the browser leaves the focus where it was, or nowhere.
    if (document.activeElement === document.body || dialog.contains(document.activeElement)) focusHeading();
  };
}

// Resolves to whether the operator agrees.
export function confirm(title, sentences, agree) {
  return new Promise((resolve) => {
    const dialog = byId("dialog");
    const answer = (value) => {
      resolve(value);
      dialog.close();
    };
    const cancel = make("button", { type: "button", class: "plain", onclick: () => answer(false) }, "Cancel");
    const go = make("button", { type: "button", class: "danger", id: "dialog-agree", onclick: () => answer(true) }, agree);
    open(title, sentences.map((sentence) => make("p", {}, sentence)), [cancel, go]);
    refuse();
    refuse = () => resolve(false);
    cancel.focus();
  });
}

// Shows pairs of a name and a value.
export function details(title, pairs, buttons = []) {
  const dialog = byId("dialog");
  const list = make("dl", {}, ...pairs.flatMap(([name, value, kind]) => [
    make("dt", {}, name), make("dd", { class: kind ?? null }, value),
  ]));
  const close = make("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close");
  open(title, [list], [...buttons, close]);
  close.focus();
}
