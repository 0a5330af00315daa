import{F as t,f as e,p as o,q as l}from"/assets/chunk-BE27RBRH.js";function m(){return e(t,{app:"desk",page:"home",title:"Home",children:[e(l,{title:"Home"}),e(o,{})]})}export{m as default};
