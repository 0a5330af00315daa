import"/assets/chunk-INTFOLL3.js";import{b as e,k as r,wa as o}from"/assets/chunk-IJ7WRBGZ.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
