import{B as l,E as a,m as e,va as t}from"/assets/chunk-GVXTDS5O.js";function r(){return e(t,{app:"holder",page:"cards",title:"Cards",children:[e(a,{title:"Cards"}),e(l,{})]})}export{r as default};
