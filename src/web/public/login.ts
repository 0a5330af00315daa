// Behind a login link: takes the code out of the address and the history, and sends the form as a click would. Without
// scripts, the button does it. Link previews run no script, so they do not use the link up.

const form = document.querySelector<HTMLFormElement>("#form");
const code = document.querySelector<HTMLInputElement>("#code");
if (form && code?.value) {
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}

export {};
