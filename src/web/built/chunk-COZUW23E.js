import{da as t,e as n}from"/assets/chunk-LNGN6FME.js";function i(r){let e=n({content:r,key:t()});return e.current.content!==r&&(e.current={content:r,key:t()}),e.current.key}export{i as a};
