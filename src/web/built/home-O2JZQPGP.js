import{C as o,F as l,Ma as t,m as e}from"/assets/chunk-K5IT4SSZ.js";function m(){return e(t,{app:"desk",page:"home",title:"Home",children:[e(l,{title:"Home"}),e(o,{})]})}export{m as default};
