import BothyStore

/// Checks that the files of blobs have the content of their names, and that blobs to upload exist.
struct BlobCheck {
  let folder: BlobFolder

  func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
    var findings: [StoreDiagnosis.Finding] = []
    for name in try BlobTable.namedByPending(in: transaction).keys.sorted() where folder.size(of: name) == nil
    {
      guard try BlobTable.row(name, in: transaction)?.state == .pending else { continue }
      findings.append(
        StoreDiagnosis.Finding(
          .error, check: "blobs", "The bytes of the blob \(name), which waits to be uploaded, are not here.",
          remedy: "Put them again, or clear the field that names them."))
    }
    for file in folder.files() where try !folder.isIntact(file.sha256) {
      let isOnServer = try BlobTable.row(file.sha256, in: transaction)?.state == .onServer
      findings.append(
        StoreDiagnosis.Finding(
          isOnServer ? .warning : .error, check: "blobs", "The file of the blob \(file.sha256) is damaged.",
          remedy: isOnServer
            ? "The next read brings it back from the server." : "Put the bytes again, or clear the field."))
    }
    return findings
  }
}
