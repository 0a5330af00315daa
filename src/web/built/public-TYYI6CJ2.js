import"/assets/chunk-INTFOLL3.js";import{G as o,a as e,f as r}from"/assets/chunk-BE27RBRH.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
