import"/assets/chunk-INTFOLL3.js";import{Na as o,b as e,m as r}from"/assets/chunk-K5IT4SSZ.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
