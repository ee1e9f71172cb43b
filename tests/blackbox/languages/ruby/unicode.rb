grüße = { "日本" => "Nihon", "🦀" => "Krebs", "e\u0301" => "combining" }
grüße.each { |wort, sinn| puts "#{wort} #{wort.size} #{sinn}" }
puts "#{gets.chomp.reverse} #{'ß'.upcase} #{"e\u0301".unicode_normalize(:nfc).size}"
