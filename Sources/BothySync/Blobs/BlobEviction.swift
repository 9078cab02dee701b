import BothyStore

/// Keeps the bytes on this device within their budget, and clears what belongs to nothing.
///
/// Never removed: what the server does not say that it has, asked at that moment, what a record with pending work names,
/// what is pinned. So the last copy stays, and what the server has lost goes there again.
struct BlobEviction {
  private let pass: SyncPass

  init(_ pass: SyncPass) { self.pass = pass }

  /// What no record names and nobody has used for so long was forgotten between `put` and `save`, or is of a record that
  /// was deleted.
  private static let patience: Int64 = 7 * 86_400_000

  private enum Fate { case keep, mayGo, forgotten }

  /// One look at the folder, two transactions, and a request for each blob that is to make room: when the server can't be
  /// reached they stay.
  @discardableResult
  func run(budget: Int64?, keeping spared: String? = nil) async throws -> BlobEvictionResult {
    let (folder, now) = (pass.blobs, pass.clock.now())
    let files = try await FileWork.run {
      folder.removeUnfinished(before: now - Self.patience)
      return folder.files()
    }
    guard !files.isEmpty else { return BlobEvictionResult() }
    let judged = try await pass.store.read { try fates(of: files, now: now, in: $0) }
    var doomed = files.filter { judged[$0.sha256] == .forgotten }
    if let budget {
      var total = files.reduce(0) { $0 + $1.size } - doomed.reduce(0) { $0 + $1.size }
      for file in files.sorted(by: { $0.used < $1.used }) where total > budget {
        guard judged[file.sha256] == .mayGo, file.sha256 != spared else { continue }
        guard let isThere = await isOnServer(file) else { break }
        guard isThere else { continue }
        doomed.append(file)
        total -= file.size
      }
    }
    let chosen = doomed
    guard !chosen.isEmpty else { return BlobEvictionResult() }
    // Once more, and within the transaction: what was put or named meanwhile stays.
    let removed = try await pass.store.write(origin: .remote) { transaction -> [BlobFolder.File] in
      let fates = try fates(of: chosen, now: now, in: transaction)
      let removed = chosen.filter { fates[$0.sha256] != .keep && fates[$0.sha256] == judged[$0.sha256] }
      for file in removed {
        if fates[file.sha256] == .forgotten { try BlobTable.remove(file.sha256, in: transaction) }
        folder.remove(file.sha256)
      }
      return removed
    }
    return BlobEvictionResult(removed: removed.count, bytes: removed.reduce(0) { $0 + $1.size })
  }

  /// What the server says of a blob. One that it lacks is uploaded, and stays here for this time. Nil when no more is to be
  /// asked now.
  private func isOnServer(_ file: BlobFolder.File) async -> Bool? {
    guard let remote = pass.remote.blobs else { return nil }
    do {
      if try await remote.holding(of: file.sha256) == .whole(size: file.size) { return true }
      var requests = 0
      _ = try await BlobHealing(pass: pass).send(file, &requests)
      return false
    } catch { return nil }  // without the server's word nothing goes; the next eviction asks again
  }

  func run() async throws { try await run(budget: pass.configuration.blobs.budget) }

  private func fates(
    of files: [BlobFolder.File], now: Int64, in transaction: ReadTransaction
  ) throws -> [String: Fate] {
    let pending = try BlobTable.namedByPending(in: transaction)
    // What is pending in a file that was set aside may need its blobs when it is salvaged.
    let isSalvageDue = !pass.store.damagedFiles.isEmpty
    var named: Set<String>?
    var fates: [String: Fate] = [:]
    for file in files {
      let row = try BlobTable.row(file.sha256, in: transaction)
      if pending[file.sha256] != nil || row?.isPinned ?? false {
        fates[file.sha256] = .keep
        continue
      }
      fates[file.sha256] = row?.state == .onServer ? .mayGo : .keep
      guard !isSalvageDue, file.used < now - Self.patience else { continue }
      if named == nil { named = try BlobTable.named(in: transaction) }
      if named?.contains(file.sha256) == false { fates[file.sha256] = .forgotten }
    }
    return fates
  }
}
