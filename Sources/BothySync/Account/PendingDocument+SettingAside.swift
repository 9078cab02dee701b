import BothyStore
import Foundation
import GRDB

/// Saves the pending changes of a file that is created again.
extension PendingDocument {
  /// Writes the pending changes of a file to a document beside it, under the file's own schema, and deletes the file.
  /// Returns the document's path, or `nil` if the file had no pending changes.
  static func setAside(_ path: String, _ options: StoreOptions) throws -> String? {
    let store = try LocalStore(existing: path, options: options)
    var place: String?
    let document = try store.read { transaction -> PendingDocument? in
      guard try transaction.database.tableExists("bothy_outbox") else { return nil }
      var document = try PendingDocument(in: transaction)
      try document.hold(store.secrets.keys())
      return document
    }
    if let document, !document.entries.isEmpty {
      var number = 1
      while FileManager.default.fileExists(atPath: "\(path).pending-\(number).json") { number += 1 }
      let free = "\(path).pending-\(number).json"
      try document.write(to: free)
      place = free
    }
    try store.close()
    if let place { try DatabaseFiles.copyBlobs(of: path, beside: place) }
    try DatabaseFiles.remove(path)
    return place
  }
}
