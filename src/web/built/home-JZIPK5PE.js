import{B as o,E as l,m as e,va as t}from"/assets/chunk-GVXTDS5O.js";function m(){return e(t,{app:"desk",page:"home",title:"Home",children:[e(l,{title:"Home"}),e(o,{})]})}export{m as default};
