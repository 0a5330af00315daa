var e=document.querySelector("#form"),t=document.querySelector("#code");e&&t?.value&&(history.replaceState(null,"",location.pathname),e.requestSubmit());
