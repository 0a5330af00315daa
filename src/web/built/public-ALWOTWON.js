import"/assets/chunk-INTFOLL3.js";import{b as e,m as r,wa as o}from"/assets/chunk-2E2QI2W7.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
