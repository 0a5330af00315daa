import"/assets/chunk-INTFOLL3.js";import{ab as o,b as e,o as r}from"/assets/chunk-JRAVTUET.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
