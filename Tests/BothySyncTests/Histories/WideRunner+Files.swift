import BothyStore
import BothySync
import BothyTesting
import Foundation
import Synchronization

/// The steps about the bytes of attached files, and the evaluation of these.
extension WideRunner {
  /// Deletes the bytes here that the server has. Those of pending changes and of restorable content must stay.
  func evict(_ index: Int) async throws {
    let bytes = try await device(index).store.blobs.evict(toFit: 0)
    if bytes > 0 { count("evict") }
  }

  /// Reads the bytes of a file that a record here names, if possible of one whose bytes aren't here.
  func download(_ index: Int, _ number: Int) async throws {
    let blobs = device(index).store.blobs
    let named = try sheets(index).sorted { $0.key < $1.key }.compactMap { $0.value.fields["file"]?.blob }
    let remote = named.filter { !blobs.isHere($0) }
    let files = remote.isEmpty ? named : remote
    guard !files.isEmpty else { return }
    let file = files[number % files.count]
    let isHere = remote.isEmpty
    if let problem = try await problem(with: file, index) { intent.complain(problem) }
    count(isHere ? "read" : "download")
  }

  /// Returns the problems with the files that a device's records name, and with those of content that its journal can
  /// restore.
  func fileProblems(_ index: Int, _ records: [AnyRecord]) async throws -> [String] {
    guard intent.hasFiles else { return [] }
    var files = Set(records.compactMap { $0.fields["file"]?.blob })
    for entry in try device(index).store.journal.entries(losing: true, limit: 1000) where entry.isRestorable {
      if let lost = try entry.lost?.members()["file"].flatMap({ Blob($0) }) { files.insert(lost) }
    }
    var problems: [String] = []
    for file in files.sorted(by: { $0.sha256 < $1.sha256 }) {
      if let problem = try await problem(with: file, index) { problems.append(problem) }
    }
    return problems
  }

  /// Returns the problem with the bytes of a file, or `nil` if the device has them or receives them. Throws the errors of
  /// its network.
  private func problem(with file: Blob, _ index: Int) async throws -> String? {
    let device = device(index)
    let attached = intent.bytes(of: file.sha256)
    do {
      let found = String(decoding: try await device.store.blobs.data(for: file), as: UTF8.self)
      if found == attached { return nil }
      return "\(device.name) reads '\(found)' as the file '\(attached ?? file.sha256)'"
    } catch let error as BothyError where [.blobMissing, .blobDamaged].contains(error.code) {
      return "\(device.name) lost the file '\(attached ?? file.sha256)': \(error.message)"
    }
  }

  /// Counts the kinds of changes of files that people made.
  func countFiles() {
    for deed in intent.state.withLock({ $0.deeds }) {
      guard let file = deed.texts["file"] else { continue }
      count(file.isEmpty ? "detach" : deed.seen?["file"] == nil ? "attach" : "replace")
    }
  }
}
