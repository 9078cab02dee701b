/// The HTML document of a page. All pages have one template, in which these are its own parts.
struct PageDocument {
  var title: String
  /// The name of the script that draws the page.
  var script: String
  /// The name of a style sheet of its own, or `nil`.
  var style: String?
  /// The attributes of the document, which the scripts read.
  var attributes = ""
  /// The class of the body, or `nil`.
  var bodyClass: String?
  /// The name of the content that a reader may skip to.
  var content = "content"
  /// True if the page has sections.
  var hasSections = true

  static let inspector = PageDocument(title: "Bothy inspector", script: "app.js")
  static let `operator` = PageDocument(
    title: "Bothy operator", script: "operator.js",
    attributes: #" data-command="bothy admin page" data-program="page's program""#)
  static let playground = PageDocument(
    title: "Bothy: two devices", script: "play.js", style: "play.css", bodyClass: "play", content: "devices",
    hasSections: false)

  /// The document in UTF-8.
  var bytes: [UInt8] {
    let parts = [
      "attributes": attributes, "title": title, "script": script,
      "style": style.map { "<link rel=\"stylesheet\" href=\"/assets/\($0)\">\n" } ?? "",
      "class": bodyClass.map { " class=\"\($0)\"" } ?? "", "content": content,
      "navigation": hasSections ? "<nav id=\"nav\" aria-label=\"Sections\"></nav>\n" : "",
    ]
    let template = String(decoding: PackageResources.index_html, as: UTF8.self)
    return Array(template.replacing(/\$([a-z]+)/) { parts[String($0.1)] ?? String($0.0) }.utf8)
  }
}
