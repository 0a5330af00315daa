import{a}from"/assets/chunk-GURG66VH.js";import"/assets/chunk-R7TDVKU6.js";import"/assets/chunk-LUNMTHAC.js";import"/assets/chunk-QT3E6IDR.js";export{a as Withdraw};
