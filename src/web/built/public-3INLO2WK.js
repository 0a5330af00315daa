import"/assets/chunk-INTFOLL3.js";import{b as e,db as o,o as r}from"/assets/chunk-LNGN6FME.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
