import"/assets/chunk-INTFOLL3.js";import{Sa as o,b as e,n as r}from"/assets/chunk-3YAME6XE.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
