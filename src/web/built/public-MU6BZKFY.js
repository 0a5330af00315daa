import"/assets/chunk-INTFOLL3.js";import{b as e,cb as o,o as r}from"/assets/chunk-ZZO5RSGM.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
