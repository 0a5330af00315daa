import{a}from"/assets/chunk-ALUFIU7C.js";import"/assets/chunk-L2KDJT3R.js";import"/assets/chunk-7KJHQTDF.js";import"/assets/chunk-7ARIMYBO.js";export{a as Withdraw};
