import"/assets/chunk-INTFOLL3.js";import{Wa as o,b as e,o as r}from"/assets/chunk-TAS4QGM7.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
