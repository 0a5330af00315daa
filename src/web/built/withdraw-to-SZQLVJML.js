import{a}from"/assets/chunk-OQVA4LOE.js";import"/assets/chunk-UPSSRSXJ.js";import"/assets/chunk-TWGK347W.js";import"/assets/chunk-CMPT6XTS.js";export{a as Withdraw};
