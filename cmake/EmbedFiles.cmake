# cmake -DFOLDER=... -DFILES=a,b -DOUTPUT=x.cpp -P EmbedFiles.cmake: writes web_files() (simile/serve/routes.h),
# the bytes of FOLDER's FILES with their types and, as ETag, the beginning of their SHA-256. index.html is
# served as "/", docs.html as "/docs", the others under "/web/".

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

string(REPLACE "," ";" names "${FILES}")
set(arrays "")
set(rows "")
foreach(name ${names})
  file(READ ${FOLDER}/${name} bytes HEX)
  file(SHA256 ${FOLDER}/${name} hash)
  string(SUBSTRING ${hash} 0 16 tag)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  get_filename_component(ending ${name} LAST_EXT)
  string(SUBSTRING ${ending} 1 -1 ending)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  if(NOT DEFINED type_${ending})
    message(FATAL_ERROR "${name}: cmake/EmbedFiles.cmake has no type for .${ending}")
  endif()
  set(path "/web/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  elseif(name STREQUAL "docs.html")
    set(path "/docs")
  endif()
  string(APPEND arrays "constexpr unsigned char ${symbol}[] = {\n${bytes}};\n")
  string(APPEND rows "      {\"${path}\", \"${type_${ending}}\", \"\\\"${tag}\\\"\",\n"
                     "       {reinterpret_cast<const char*>(${symbol}), sizeof(${symbol})}},\n")
endforeach()

file(WRITE ${OUTPUT} "// Written by cmake/EmbedFiles.cmake.
#include \"simile/serve/routes.h\"

namespace simile {
namespace {

${arrays}
}  // namespace

const std::vector<WebFile>& web_files() {
  static const std::vector<WebFile> files = {
${rows}  };
  return files;
}

}  // namespace simile
")
