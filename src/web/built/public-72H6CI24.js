import"/assets/chunk-INTFOLL3.js";import{Ua as o,b as e,n as r}from"/assets/chunk-S7HXOMVX.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
