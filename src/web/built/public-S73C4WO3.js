import"/assets/chunk-INTFOLL3.js";import{b as e,l as r,ra as o}from"/assets/chunk-HAB3GEDS.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
