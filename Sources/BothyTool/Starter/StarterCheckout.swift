import Foundation

/// The checkout of Bothy that a new app depends on.
struct StarterCheckout {
  /// The path for the tool, from the current folder.
  let path: String
  /// The path for the app's manifest, from the app's folder.
  let fromApp: String

  /// Takes the path that the user gave, or `bothy` in the current folder.
  init(_ given: String?) {
    path = given ?? "bothy"
    let parts = path.split(separator: "/").filter { $0 != "." }
    fromApp = path.hasPrefix("/") ? path : ([".."] + parts).joined(separator: "/")
  }

  /// True if the folder has a package.
  var exists: Bool { FileManager.default.fileExists(atPath: path + "/Package.swift") }

  /// The name of the folder, by which SwiftPM knows the package too.
  var folder: String { URL(filePath: path).standardizedFileURL.lastPathComponent }
}
