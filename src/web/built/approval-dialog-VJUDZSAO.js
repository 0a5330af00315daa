import{a}from"/assets/chunk-VZNZLA4A.js";import"/assets/chunk-PY3Q3IHE.js";import"/assets/chunk-GSCXSVKB.js";export{a as ApprovalDialog};
