import"/assets/chunk-INTFOLL3.js";import{Ra as o,b as e,n as r}from"/assets/chunk-CTPTBO5K.js";var m=document.getElementById("app");m&&e(r(o,{title:"Purser",children:r("h1",{children:"Purser"})}),m);
