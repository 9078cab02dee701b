internal import Foundation

/// The note about the quarantined index whose content is being copied, which stays beyond a kill.
///
/// It is a file beside the index. It has the ending of the quarantined file's name, as the folder may have another path
/// when the store is opened again.
extension DiskStore {
  private var salvageMark: String { indexPath + "-salvage" }

  /// The path of the quarantined index that is being copied, or `nil`.
  var markedPlace: String? {
    guard let ending = FileManager.default.contents(atPath: salvageMark), !ending.isEmpty else { return nil }
    return indexPath + String(decoding: ending, as: UTF8.self)
  }

  func noteSalvage(of place: String) {
    // Without the mark, on a full disk, entries in files are found again all the same.
    try? Data(place.dropFirst(indexPath.count).utf8).write(to: URL(filePath: salvageMark))
  }

  func endSalvage(_ salvaged: Salvaged) {
    settle(salvaged)
    forgetSalvage()
  }

  /// Deletes the mark. A complete index needs it no longer, and a later damage must not bring back what was copied.
  func forgetSalvage() { unlink(salvageMark) }

  /// Returns the quarantined index to copy, or `nil`. A damaged one that was copied before isn't copied again.
  func lastPutAway() -> String? { markedPlace ?? (hasNewer ? newerPlace : nil) }

  /// Deletes an unusable index that was still being filled from a quarantined one. Returns the path of that, which has
  /// all that was copied and is copied again, or `nil` if the index is to be quarantined itself.
  func dropUnfilled() -> String? {
    guard let place = markedPlace, FileBytes.size(place) != nil else { return nil }
    for side in ["", "-wal", "-shm"] { unlink(indexPath + side) }
    return place
  }
}
