import BothyStore

/// Uploads blobs that the server lacks and this device has.
struct BlobHealing {
  let pass: SyncPass

  /// Uploads the wanted blobs whose bytes are on this device. A blob that the server refuses doesn't stop the others.
  ///
  /// - Parameter wanted: names as `BlobWish` returns them.
  func run(_ wanted: Set<String>, _ request: SyncPass.Request, _ report: inout SyncReport) async throws {
    guard !wanted.isEmpty, pass.remote.blobs != nil else { return }
    let folder = pass.blobs
    let found = try await FileWork.run {
      folder.files().filter { wanted.contains(BlobWish.name(of: $0.sha256)) }
    }
    for file in found {
      try pass.checkMayGoOn(request)
      if try await send(file, &report.requests) { report.uploadedBlobs += 1 }
    }
  }

  /// Uploads a blob unless the server has it. Returns true if the server has it. Throws `RemoteError` if blobs can't be
  /// uploaded now.
  func send(_ file: BlobFolder.File, _ requests: inout Int) async throws -> Bool {
    guard let remote = pass.remote.blobs else { return false }
    var upload = BlobUpload(Blob(sha256: file.sha256, size: Int(clamping: file.size)), pass)
    while true {
      try Task.checkCancellation()
      requests += 1
      switch try await upload.step(remote) {
      case .moved: continue
      case .done: return true
      case .refused: return false
      }
    }
  }
}
