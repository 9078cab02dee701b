import BothyStore

/// Keeps the bytes on this device within their budget, and clears what belongs to nothing.
///
/// Never removed: what the server is not known to have, what a record with pending work names, what is pinned.
struct BlobEviction {
  private let pass: SyncPass

  init(_ pass: SyncPass) { self.pass = pass }

  /// What no record names and nobody has used for so long was forgotten between `put` and `save`, or is of a record that
  /// was deleted.
  private static let patience: Int64 = 7 * 86_400_000

  private enum Fate { case keep, mayGo, forgotten }

  /// One look at the folder and one transaction to judge what is in it.
  @discardableResult
  func run(budget: Int64?, keeping spared: String? = nil) async throws -> BlobEvictionResult {
    let (folder, now) = (pass.blobs, pass.clock.now())
    let files = try await FileWork.run {
      folder.removeUnfinished(before: now - Self.patience)
      return folder.files()
    }
    guard !files.isEmpty else { return BlobEvictionResult() }
    let doomed = try await pass.store.write(origin: .remote) { transaction -> [BlobFolder.File] in
      let fates = try fates(of: files, now: now, in: transaction)
      var doomed = files.filter { fates[$0.sha256] == .forgotten }
      for file in doomed { try BlobTable.remove(file.sha256, in: transaction) }
      guard let budget else { return doomed }
      var total = files.reduce(0) { $0 + $1.size } - doomed.reduce(0) { $0 + $1.size }
      for file in files.sorted(by: { $0.used < $1.used }) where total > budget {
        guard fates[file.sha256] == .mayGo, file.sha256 != spared else { continue }
        doomed.append(file)
        total -= file.size
      }
      return doomed
    }
    try await FileWork.run { for file in doomed { folder.remove(file.sha256) } }
    return BlobEvictionResult(removed: doomed.count, bytes: doomed.reduce(0) { $0 + $1.size })
  }

  func run() async throws { try await run(budget: pass.configuration.blobs.budget) }

  private func fates(
    of files: [BlobFolder.File], now: Int64, in transaction: ReadTransaction
  ) throws -> [String: Fate] {
    let pending = try BlobTable.namedByPending(in: transaction)
    var named: Set<String>?
    var fates: [String: Fate] = [:]
    for file in files {
      let row = try BlobTable.row(file.sha256, in: transaction)
      if pending[file.sha256] != nil || row?.isPinned ?? false {
        fates[file.sha256] = .keep
        continue
      }
      fates[file.sha256] = row?.state == .onServer ? .mayGo : .keep
      guard file.used < now - Self.patience else { continue }
      if named == nil { named = try BlobTable.named(in: transaction) }
      if named?.contains(file.sha256) == false { fates[file.sha256] = .forgotten }
    }
    return fates
  }
}
