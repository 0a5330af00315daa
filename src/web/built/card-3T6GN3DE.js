import{F as t,f as e,p as l,q as a}from"/assets/chunk-BE27RBRH.js";function r(){return e(t,{app:"holder",page:"cards",title:"Card",children:[e(a,{title:"Card"}),e(l,{})]})}export{r as default};
