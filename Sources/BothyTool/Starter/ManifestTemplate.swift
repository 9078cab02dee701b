/// The manifest of a new app.
enum ManifestTemplate {
  static func text(_ name: StarterName, bothy path: String) -> String {
    let escaped = path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    let head = "// swift-tools-version: 6.2\nimport PackageDescription\n\n"
    let body = """
      let package = Package(
        name: "\(name.text)",
        platforms: [.macOS(.v15)],
        products: [.executable(name: "\(name.text)", targets: ["\(name.module)"])],
        dependencies: [.package(name: "bothy", path: "\(escaped)")],
        targets: [
          .executableTarget(name: "\(name.module)", dependencies: [.product(name: "Bothy", package: "bothy")])
        ]
      )

      """
    return head + body
  }
}
