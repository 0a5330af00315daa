import{F as t,f as e,p as l,q as a}from"/assets/chunk-BE27RBRH.js";function r(){return e(t,{app:"holder",page:"cards",title:"Cards",children:[e(a,{title:"Cards"}),e(l,{})]})}export{r as default};
