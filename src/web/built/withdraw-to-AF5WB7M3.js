import{a}from"/assets/chunk-NUHCSIY7.js";import"/assets/chunk-COZUW23E.js";import"/assets/chunk-BFA4SWXV.js";import"/assets/chunk-MKHHXNG6.js";import"/assets/chunk-LNGN6FME.js";export{a as Withdraw};
