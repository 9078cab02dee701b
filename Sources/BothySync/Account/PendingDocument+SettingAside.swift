import BothyStore
import Foundation
import GRDB

/// Saves the pending changes of a file that is created again.
extension PendingDocument {
  /// Writes the pending changes of a file to a document beside it, under the file's own schema, and deletes the file.
  /// Returns the document's path, or `nil` if the file had no pending changes.
  ///
  /// The file is marked in the transaction that reads the changes. So what another process commits before is in the
  /// document, and its later changes are refused.
  static func setAside(_ path: String, _ options: StoreOptions) throws -> String? {
    let store = try LocalStore(existing: path, options: options)
    var place: String?
    do {
      try store.write(origin: .remote) { transaction in
        guard try transaction.database.tableExists("bothy_outbox") else { return }
        var document = try PendingDocument(in: transaction)
        try document.hold(store.secrets.keys())
        if !document.entries.isEmpty {
          let free = freePlace(beside: path)
          try document.write(to: free)
          place = free
          try DatabaseFiles.copyBlobs(of: path, beside: free)
        }
        try ServerBinding.replace(by: place.map { String($0.dropFirst(path.count)) }, in: transaction)
      }
    } catch {
      // The first error is thrown.
      if let place { try? FileManager.default.removeItem(atPath: place) }
      try? store.close()
      throw error
    }
    try store.close()
    try DatabaseFiles.removeReplaced(path)
    return place
  }

  /// Returns the path of the document of a file whose replacement was interrupted after the mark, or `nil`.
  static func left(beside path: String) -> String? {
    // Unreadable: the end of the deletion reports why.
    let ending = try? SyncValues.reading(path) { try ServerBinding.document(in: $0) }
    return ending.map { path + $0 }
  }

  private static func freePlace(beside path: String) -> String {
    var number = 1
    while FileManager.default.fileExists(atPath: "\(path).pending-\(number).json") { number += 1 }
    return "\(path).pending-\(number).json"
  }
}
