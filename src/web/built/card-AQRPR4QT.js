import{B as l,E as a,m as e,va as t}from"/assets/chunk-GVXTDS5O.js";function r(){return e(t,{app:"holder",page:"cards",title:"Card",children:[e(a,{title:"Card"}),e(l,{})]})}export{r as default};
