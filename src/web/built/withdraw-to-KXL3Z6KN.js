import{a}from"/assets/chunk-54U7RUYI.js";import"/assets/chunk-TBPUOXTK.js";import"/assets/chunk-XD3O4WWK.js";import"/assets/chunk-IN55EAJZ.js";export{a as Withdraw};
