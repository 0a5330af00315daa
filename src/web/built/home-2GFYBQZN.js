import{A as l,k as e,va as t,y as o}from"/assets/chunk-IJ7WRBGZ.js";function m(){return e(t,{app:"desk",page:"home",title:"Home",children:[e(l,{title:"Home"}),e(o,{})]})}export{m as default};
