import{l as e,qa as t,x as l,z as a}from"/assets/chunk-HAB3GEDS.js";function r(){return e(t,{app:"holder",page:"cards",title:"Card",children:[e(a,{title:"Card"}),e(l,{})]})}export{r as default};
