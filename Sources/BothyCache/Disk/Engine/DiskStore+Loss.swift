internal import Foundation
internal import GRDB

/// The time after a loss of pins with the index, in which the limits evict nothing that was stored before.
///
/// A file beside the index has the highest rank at the loss. A pin of any holder deletes it, and so does an opening
/// 30 days later. The store that made the pin keeps the rank until it is opened again, as a holder pins in parts.
extension DiskStore {
  /// The number of days that holders have to pin again.
  private static let daysToPin = 30

  private var lossMark: String { indexPath + "-lost" }

  /// Notes the highest rank of an index that was filled without all earlier pins. Call it with the lock held, before
  /// the index counts as complete.
  ///
  /// An index that is filled before holders have pinned again gets the new rank.
  func noteLoss(_ salvaged: Salvaged, in index: IndexFile) throws {
    let rank = try index.read { try Int64.fetchOne($0, sql: "SELECT rank FROM state") } ?? 0
    let hasPins = salvaged.isLast && salvaged.hasAllPins
    guard rank > 0, !hasPins || FileBytes.size(lossMark) != nil else { return endLoss() }
    do { try Data("\(rank)".utf8).write(to: URL(filePath: lossMark)) } catch {
      // The index stays incomplete, and the next opening fills it again.
      throw DatabaseError(resultCode: .SQLITE_IOERR, message: "\(lossMark) can't be written: \(error)")
    }
  }

  /// Returns the highest rank at a loss of pins, or the lowest number if none has happened or its days are over.
  func rankAtLoss() -> Int64 {
    guard let text = FileManager.default.contents(atPath: lossMark),
      let rank = Int64(String(decoding: text, as: UTF8.self))
    else { return .min }
    // A file without a date is too old, so that this ends.
    guard let days = Self.days(since: lossMark), days <= Double(Self.daysToPin) else {
      endLoss()
      return .min
    }
    return rank
  }

  /// Returns the days since a file was written, or `nil` if it has no date. A date that is yet to come, by a clock that
  /// was ahead, becomes the present one.
  static func days(since path: String) -> Double? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    guard let date = attributes?[.modificationDate] as? Date else { return nil }
    let days = Date().timeIntervalSince(date) / 86_400
    // If it can't be changed, as on a read-only disk, the next call tries again.
    if days < 0 { try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: path) }
    return max(0, days)
  }

  /// Ends the time after a loss, from the next opening on.
  func endLoss() { unlink(lossMark) }
}
