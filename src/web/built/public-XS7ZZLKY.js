import"/assets/chunk-INTFOLL3.js";import{b as e,m as r,wa as o}from"/assets/chunk-GVXTDS5O.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
